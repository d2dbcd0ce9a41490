module peers/hcsshim_probe

go 1.26

require github.com/Microsoft/hcsshim v0.14.1

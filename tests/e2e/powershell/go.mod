module peers/powershell

go 1.26

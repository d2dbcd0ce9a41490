module weft/nodeload

go 1.26

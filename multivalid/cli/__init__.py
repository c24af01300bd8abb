"""The command line `multivalid`: from files to answers without writing Python."""

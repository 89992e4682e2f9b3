"""How near the product comes to what its machine and database can do: `make bench`."""

"""What is published of the methods, and what the contract modules do by themselves."""

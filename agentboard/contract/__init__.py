"""What a method is and how it is published; knows no domain."""

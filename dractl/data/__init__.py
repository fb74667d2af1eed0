"""Files that come with dractl: the demo fleet."""

"""What ``dractl get`` lists: Inventory -> rows, as plain data. Laid out by ``dractl.render.text.lists``."""

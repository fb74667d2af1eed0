"""``dractl top`` without its terminal: what is shown (board), what keys do (session), how it looks (frame)."""

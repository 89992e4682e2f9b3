"""What the doors share, asked of a real server over a real socket.

Names like B07 stand for the kinds of faults that comparable systems had; the test that makes one impossible names it.
Here, for REST, storage and limits: B01, B03, B05, B07, B09, B11, B13, B15, B33, B49, B53. In tests/races and
tests/memory: B17, B19, B21, B23. In tests/mcp_bridge: the part at /mcp of B01, B03, B05, B07, B09, B11, B13 and B15,
and B27, B29, B31, B33, B35, B37 (its schemas are held in tests/contract too), B39, B43; with its folder oauth B41, B45.
B25, B47 and B51 come with the browser.
"""

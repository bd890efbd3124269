"""Objects that print as the problem language.

``model`` is where a reader begins: a Model has blocks (``blocks``) with expressions (``expressions``, ``names``, ``functions``,
``relations``), data (``tables``) and settings. ``printer`` writes them as text and leads an error of the library back to the
Python line that made the statement (``places``).
"""

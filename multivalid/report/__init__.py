"""What was found, for people: one HTML page that opens anywhere, the same numbers as JSON, and each figure as a matplotlib axis.

The way is data → dict (`content`) → page (`page`): whatever the page shows stands in the dict, and the dict is the JSON file.
"""

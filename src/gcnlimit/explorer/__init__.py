"""The page in the browser: controls, pictures that follow them, and graphs sampled beside the curves.

`state` is what the page shows, and `start` where it begins: an example, or a graph of your own. Without any web code,
`computations` are the numbers behind it, `pictures` what each picture shows and `sentences` the answers in words;
`picture` holds curves, tables and the lines of code that give the same. `answers` computes for many clients, some of it
in other processes, and samples graphs there. `page` lays it out, and `app` connects the controls and answers the
browser, whose scripts draw.
"""

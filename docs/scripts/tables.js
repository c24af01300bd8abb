// The theme puts wide tables into boxes that scroll; the keyboard must reach them.
document$.subscribe(() =>
  setTimeout(() => {
    for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "table");
    }
  }),
);

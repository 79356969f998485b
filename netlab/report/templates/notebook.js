for (const root of document.querySelectorAll(".netlab-explore:not([data-ready])")) {
  root.dataset.ready = "";
  tables(root);
  explore(root);
}

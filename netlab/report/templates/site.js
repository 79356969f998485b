tables(document);
for (const root of document.querySelectorAll(".netlab-explore")) explore(root);
const hint = box => {
  const wide = box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1;
  let said = box.previousElementSibling;
  if (!said || !said.classList.contains("scrolls")) {
    if (!wide) return;
    said = document.createElement("p");
    said.className = "scrolls";
    said.textContent = "Wider than the page: scroll it sideways.";
    box.before(said);
  }
  said.hidden = !wide;
};
const sizes = new ResizeObserver(entries => entries.forEach(entry => hint(entry.target)));
for (const box of document.querySelectorAll(".netlab-table, .netlab-figure")) sizes.observe(box);
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") {
    box.open = true;
    box.hidden = false;
  }
};
addEventListener("hashchange", open);
open();

const explore = root => {
  const form = root.querySelector("form");
  const views = [...root.querySelectorAll("details.view")];
  if (!form) return;
  form.addEventListener("change", () => {
    const chosen = [...form.querySelectorAll("input:checked")].map(box => `${box.name}-${box.value}`);
    for (const view of views) if (chosen.every(name => view.classList.contains(name))) view.open = true;
  });
};

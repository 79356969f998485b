const explore = root => {
  const choices = root.querySelector(".choices");
  const views = [...root.querySelectorAll("details.view")];
  if (!choices) return;
  const choose = () => {
    const chosen = [...choices.querySelectorAll("input:checked")].map(box => box.value);
    for (const view of views) {
      view.hidden = !chosen.every(mark => view.classList.contains(mark));
      view.open ||= !view.hidden;
    }
  };
  choices.hidden = false;
  choices.addEventListener("change", choose);
  choose();
};

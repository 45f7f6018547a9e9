/** Accept files dropped on the upload form. */
export function connectDrop(form) {
  const mark = (event, isOver) => {
    event.preventDefault();
    form.classList.toggle("over", isOver);
  };
  form.addEventListener("dragover", (event) => mark(event, true));
  form.addEventListener("dragleave", (event) => mark(event, false));
  form.addEventListener("drop", (event) => {
    mark(event, false);
    form.querySelector("input[type=file]").files = event.dataTransfer.files;
  });
}

import {withNodes} from "../../model/shared/wanted_nodes.js";

/** The picker of instance types in an upload form: it writes what is chosen into the field for nodes. */
export function connectNodePicker(form) {
  const picker = form.querySelector(".picker");
  if (!picker) return;
  picker.hidden = false;
  const part = (name) => picker.querySelector(`[data-part=${name}]`);
  part("add").addEventListener("click", () => {
    const field = form.querySelector("input[name=nodes]");
    field.value = withNodes(field.value, {
      count: Number(part("count").value),
      type: part("type").value,
      zones: part("zones").value,
    });
    field.focus();
  });
  // In these fields Enter adds nodes, and sends nothing.
  picker.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target === part("add")) return;
    event.preventDefault();
    part("add").click();
  });
}

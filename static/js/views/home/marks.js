/** The marks of pods on a canvas: the shapes of the sprite, by state. `colours` is palette(). */

const ON_NODE = new Set(["starting", "attaching", "kubelet", "mounting", "failing"]);

/** Draw the mark of a pod in `state` with its middle at (x, y). */
export function drawMark(context, colours, state, {x, y, size}) {
  const half = size / 2;
  context.lineWidth = 1.4;
  if (state === "running") tile(context, colours.settled.mark, x, y, size);
  else if (ON_NODE.has(state)) faded(context, 0.45, () => tile(context, colours.settled.mark, x, y, size));
  else if (state === "terminating") leaving(context, colours, x, y, half);
  else if (state === "binding" || state === "half_bound") promised(context, colours, x, y, half);
  else waiting(context, colours, state, {x, y, half});
}

function waiting(context, colours, state, {x, y, half}) {
  if (state === "gated") gate(context, colours.held.mark, x, y, half);
  else if (state === "backoff") clock(context, colours.clock.mark, x, y, half);
  else if (state === "unschedulable") {
    disc(context, colours.stuck.mark, x, y, half);
    context.fillStyle = colours.surface;
    context.fillRect(x - half * 0.55, y - 1, half * 1.1, 2);
  } else disc(context, colours.ready.mark, x, y, half);
}

function faded(context, alpha, draw) {
  context.globalAlpha = alpha;
  draw();
  context.globalAlpha = 1;
}

function tile(context, colour, x, y, size) {
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x - size / 2, y - size / 2, size, size, 1.5);
  context.fill();
}

function disc(context, colour, x, y, half) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, half, 0, 7);
  context.fill();
}

function leaving(context, colours, x, y, half) {
  context.strokeStyle = colours.stuck.mark;
  context.beginPath();
  context.roundRect(x - half + 0.7, y - half + 0.7, 2 * half - 1.4, 2 * half - 1.4, 1.5);
  context.moveTo(x - half + 1, y + half - 1);
  context.lineTo(x + half - 1, y - half + 1);
  context.stroke();
}

function promised(context, colours, x, y, half) {
  context.strokeStyle = context.fillStyle = colours.promised.mark;
  context.beginPath();
  context.roundRect(x - half + 0.7, y - half + 0.7, 2 * half - 1.4, 2 * half - 1.4, 1.5);
  context.stroke();
  context.fillRect(x - half + 0.7, y, 2 * half - 1.4, half - 0.7);
}

function clock(context, colour, x, y, half) {
  context.strokeStyle = colour;
  context.beginPath();
  context.arc(x, y, half - 0.7, 0, 7);
  context.moveTo(x, y - half / 2);
  context.lineTo(x, y);
  context.lineTo(x + half / 2.2, y + half / 3);
  context.stroke();
}

function gate(context, colour, x, y, half) {
  context.fillStyle = colour;
  context.fillRect(x - half * 0.7, y - half, half * 0.5, 2 * half);
  context.fillRect(x + half * 0.2, y - half, half * 0.5, 2 * half);
}

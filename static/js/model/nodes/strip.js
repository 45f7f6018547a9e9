/** The positions of the cells of a strip: rows of equal cells, filled from the left. */
export function stripLayout(count, width, cell) {
  const columns = Math.max(1, Math.floor(width / cell));
  const rows = Math.ceil(count / columns);
  return {
    count,
    cell,
    columns,
    width,
    height: rows * cell + 1,
    origin: (index) => [(index % columns) * cell, Math.floor(index / columns) * cell],
  };
}

/** Index of the cell at a point, or -1. */
export function cellAt({count, cell, columns}, x, y) {
  const column = Math.floor(x / cell);
  const index = Math.floor(y / cell) * columns + column;
  return x >= 0 && y >= 0 && column < columns && index < count ? index : -1;
}

/** What a file does not hold it will not hold in a moment. In the place of views/shared/try_again.js. */
export function TryAgain() {
  return null;
}

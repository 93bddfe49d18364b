/** What differs between two states of what must stay as it is. */
export function differences(
  before: Record<string, string>,
  after: Record<string, string>,
): string[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return paths
    .filter((path) => before[path] !== after[path])
    .map((path) => `${path} was ${before[path]} and is ${after[path]}`);
}

/** Returns the differences between two states that must be equal. */
export function differences(
  before: Record<string, string>,
  after: Record<string, string>,
): string[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return paths
    .filter((path) => before[path] !== after[path])
    .map((path) => `${path} was ${before[path]} and is ${after[path]}`);
}

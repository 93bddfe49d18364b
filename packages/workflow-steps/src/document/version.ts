const lastMinor = 18;

/** The versions of the format that are understood: 3.0 to 3.18. */
export const SUPPORTED_VERSIONS: readonly string[] = Array.from(
  { length: lastMinor + 1 },
  (_, minor) => `3.${minor}`,
);

/** A version's minor number (`3.9` has 9); null when it is not supported. */
export function minorOf(version: unknown): number | null {
  if (typeof version !== "string" || !SUPPORTED_VERSIONS.includes(version)) return null;
  return Number(version.slice(2));
}

/** Whether a version is 3.10 or later, by number: `3.9` is not. */
export const isV310OrLater = (version: string): boolean => (minorOf(version) ?? 0) >= 10;

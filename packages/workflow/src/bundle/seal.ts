import { isRecord } from "../contract/show.ts";
import { isSha256, sha256 } from "../record/sha256.ts";

/**
 * The first line of a stored descriptor: the SHA-256 of the bundle and of each file beside it. `descriptor` is the
 * SHA-256 of the other sums and of the following text, so it covers the whole file.
 *
 *     # uncaged-workflow {"bundle":"…","map":"…","descriptor":"…"}
 */
export type Seal = { bundle: string; descriptor: string; types?: string; map?: string };

const mark = "# uncaged-workflow ";

/** Adds a seal to a descriptor's text, as a YAML comment in the first line. */
export function sealedDescriptor(text: string, seal: Omit<Seal, "descriptor">): string {
  const descriptor = sumOf(text, seal);
  return `${mark}${JSON.stringify({ ...seal, descriptor })}\n${text}`;
}

const sumOf = (text: string, { bundle, types, map }: Omit<Seal, "descriptor">): string =>
  sha256(`${JSON.stringify({ bundle, types, map })}\n${text}`);

/**
 * Splits a stored descriptor into its seal and its text. The seal is null in files of an earlier version of the format,
 * and "broken" if the file has changed since it was sealed.
 */
export function sealIn(stored: string): { seal: Seal | null | "broken"; text: string } {
  if (!stored.startsWith(mark)) return { seal: null, text: stored };
  const end = stored.indexOf("\n");
  const [line, text] = [stored.slice(mark.length, end), stored.slice(end + 1)];
  if (end < 0) return { seal: "broken", text: "" };
  try {
    const value: unknown = JSON.parse(line);
    const isIntact = isSeal(value) && value.descriptor === sumOf(text, value);
    return { seal: isIntact ? value : "broken", text };
  } catch {
    return { seal: "broken", text };
  }
}

const isSeal = (value: unknown): value is Seal =>
  isRecord(value) &&
  [value.bundle, value.descriptor].every(isSha256) &&
  [value.types, value.map].every((sum) => sum === undefined || isSha256(sum));

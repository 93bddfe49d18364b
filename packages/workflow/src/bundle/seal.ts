import { isRecord } from "../contract/show.ts";
import { isSha256, sha256 } from "../storage/sha256.ts";

/**
 * The first line of a stored descriptor: the SHA-256 of the bundle, and of each file beside it. `descriptor` is that of
 * the text after the line.
 *
 *     # uncaged-workflow {"bundle":"…","descriptor":"…","map":"…"}
 */
export type Seal = { bundle: string; descriptor: string; types?: string; map?: string };

const mark = "# uncaged-workflow ";

/** A descriptor's text with the seal as its first line. YAML reads that as a comment. */
export const sealedDescriptor = (text: string, seal: Omit<Seal, "descriptor">): string =>
  `${mark}${JSON.stringify({ ...seal, descriptor: sha256(text) })}\n${text}`;

/**
 * The seal of a stored descriptor, and the text that it covers. The seal is null in a file of an earlier version of the
 * format, and "invalid" where its line can't be read.
 */
export function sealIn(stored: string): { seal: Seal | null | "invalid"; text: string } {
  if (!stored.startsWith(mark)) return { seal: null, text: stored };
  const end = stored.indexOf("\n");
  const [line, text] = [stored.slice(mark.length, end), stored.slice(end + 1)];
  if (end < 0) return { seal: "invalid", text: "" };
  try {
    const value: unknown = JSON.parse(line);
    return { seal: isSeal(value) ? value : "invalid", text };
  } catch {
    return { seal: "invalid", text };
  }
}

const isSeal = (value: unknown): value is Seal =>
  isRecord(value) &&
  [value.bundle, value.descriptor].every(isSha256) &&
  [value.types, value.map].every((sum) => sum === undefined || isSha256(sum));

import { isObject } from "../run/error.ts";

const charactersPerToken = 4;
// The tokens of a large picture. They depend on its width and height, which providers limit, and not on its bytes.
const tokensOfPicture = 1600;
// A model reads a PDF page as a picture and text. A page of about 60,000 characters in base64 has about 3,000 tokens.
const charactersPerDocumentToken = 20;

/**
 * Returns an estimate of the tokens in a part of a request: text by its length, pictures and documents by their kind.
 */
export function tokensAbout(part: unknown): number {
  if (typeof part === "string") {
    const [head] = part.startsWith("data:") ? (/^[^,]{0,100};base64,/.exec(part) ?? []) : [];
    return head === undefined ? part.length / charactersPerToken : encodedTokens(head, part);
  }
  if (Array.isArray(part)) return part.reduce<number>((sum, one) => sum + tokensAbout(one), 0);
  if (!isObject(part)) return 1;
  const { type, media_type, data } = part;
  if (type === "base64" && typeof data === "string") return encodedTokens(String(media_type), data);
  let sum = 0;
  // The name of a field, with its quotes and colon.
  for (const name in part) sum += 1 + name.length / charactersPerToken + tokensAbout(part[name]);
  return sum;
}

const encodedTokens = (mediaType: string, data: string): number =>
  mediaType.includes("image/")
    ? tokensOfPicture
    : Math.max(tokensOfPicture, data.length / charactersPerDocumentToken);

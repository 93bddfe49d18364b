import { isObject } from "../run/error.ts";

const charactersPerToken = 4;
// A picture's tokens follow from its width and height, which providers limit, and not from its bytes.
const tokensOfPicture = 1600;
// A page of a PDF is a picture and its text: about 3,000 tokens in some 60,000 characters of base64.
const charactersPerDocumentToken = 20;

/** Estimates the tokens of a request's parts: texts by length, pictures and documents by kind. */
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
  // A name, its quotes and a colon.
  for (const name in part) sum += 1 + name.length / charactersPerToken + tokensAbout(part[name]);
  return sum;
}

const encodedTokens = (mediaType: string, data: string): number =>
  mediaType.includes("image/")
    ? tokensOfPicture
    : Math.max(tokensOfPicture, data.length / charactersPerDocumentToken);

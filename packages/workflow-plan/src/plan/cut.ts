/** Returns the beginning of a text with at most `most` characters. Never splits a surrogate pair. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  const isHalfOfPair = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, isHalfOfPair ? most - 1 : most);
}

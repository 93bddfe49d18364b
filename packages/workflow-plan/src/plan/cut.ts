/** The first characters of a text, at most so many; it never ends within a surrogate pair. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  const isHalfOfPair = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, isHalfOfPair ? most - 1 : most);
}

/** `make`, whose last `limit` values are kept by their text. What throws is not kept. */
export function remembered<T>(make: (text: string) => T, limit: number): (text: string) => T {
  const kept = new Map<string, { value: T }>();
  return (text) => {
    const found = kept.get(text);
    if (found) return found.value;
    const value = make(text);
    if (kept.size >= limit) {
      for (const [oldest] of kept) {
        kept.delete(oldest);
        break;
      }
    }
    kept.set(text, { value });
    return value;
  };
}

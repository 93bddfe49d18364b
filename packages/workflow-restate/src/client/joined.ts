/**
 * Returns a function that shares each read among all calls before the start of the read, and runs reads in sequence. A
 * caller never gets a read that started before its call. So many concurrent starts read the registry once or twice.
 */
export function joined<T>(read: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | null = null;
  const begin = () => {
    next = null;
    return read();
  };
  return () => {
    if (next) return next;
    next = last.then(begin, begin);
    last = next;
    return next;
  };
}

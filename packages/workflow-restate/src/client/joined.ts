/**
 * Has all who ask before a read begins share it, and one read be made after the other: each is given what was read after
 * it had asked. A hundred threads that are started at once read the registry once or twice.
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

let isOwn = false;

/**
 * Loads a module of this program, even when a bundle is further up the stack, which makes the guard of `require` refuse
 * other loads.
 */
export function requireOwn<T>(load: () => T): T {
  isOwn = true;
  try {
    return load();
  } finally {
    isOwn = false;
  }
}

/** Tells whether the current `require` belongs to this program. */
export const isOwnRequire = (): boolean => isOwn;

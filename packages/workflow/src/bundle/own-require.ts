let isOwn = false;

/**
 * Runs a function that requires a module of this program. The guard of `require` allows it even when a bundle is on
 * the stack.
 */
export function requireOwn<T>(load: () => T): T {
  isOwn = true;
  try {
    return load();
  } finally {
    isOwn = false;
  }
}

/** Returns whether the current `require` belongs to this program. */
export const isOwnRequire = (): boolean => isOwn;

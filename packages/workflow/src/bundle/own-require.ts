let isOwn = false;

/** Loads a module of this program, even when the guard of `require` finds a bundle further up the stack. */
export function requireOwn<T>(load: () => T): T {
  isOwn = true;
  try {
    return load();
  } finally {
    isOwn = false;
  }
}

/** Whether the current `require` is this program's own. */
export const isOwnRequire = (): boolean => isOwn;

import { useSyncExternalStore } from "react";

/** Texts that could not be stored. They last until the user leaves the page. */
const unkept = new Map<string, string>();
const changed = "uncaged-stored";

/** The stored text of a key; null for none. */
export function readStored(key: string): string | null {
  try {
    return unkept.get(key) ?? localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Stores a text; null deletes the stored text. Returns false if the storage is full or disabled. */
export function store(key: string, text: string | null): boolean {
  unkept.delete(key);
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
    return true;
  } catch {
    if (text !== null) unkept.set(key, text);
    return false;
  } finally {
    dispatchEvent(new Event(changed));
  }
}

function subscribe(listener: () => void): () => void {
  for (const name of ["storage", changed]) addEventListener(name, listener);
  return () => {
    for (const name of ["storage", changed]) removeEventListener(name, listener);
  };
}

/** The stored text of a key, updated when the page or another tab changes it. */
export const useStored = (key: string): string | null =>
  useSyncExternalStore(subscribe, () => readStored(key));

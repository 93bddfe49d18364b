import { useSyncExternalStore } from "react";

/** Texts that the storage did not take. They last until the user leaves the page. */
const unkept = new Map<string, string>();
const changed = "uncaged-stored";

/** The text that this browser keeps under a key; null for none. */
export function readStored(key: string): string | null {
  try {
    return unkept.get(key) ?? localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a text; null forgets it. Returns false if the storage is full or disabled. */
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

/** The text under a key, also when another part of the page or another tab changes it. */
export const useStored = (key: string): string | null =>
  useSyncExternalStore(subscribe, () => readStored(key));

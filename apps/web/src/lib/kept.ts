import { useState } from "react";

const nameOf = (key: string): string => `uncaged-kept-${key}`;

/**
 * Form state in `sessionStorage`: unsent input survives closing the form and reloading the tab, until
 * {@link forgetKept}. A null key stores nothing.
 */
export function useKept<T>(key: string | null, initial: T): [value: T, set: (next: T) => void] {
  const [held, hold] = useState(() => ({ key, value: readKept(key, initial) }));
  const value = held.key === key ? held.value : readKept(key, initial);
  const set = (next: T) => {
    hold({ key, value: next });
    keep(key, next);
  };
  return [value, set];
}

/** Deletes the stored input of these keys, after it was sent. */
export function forgetKept(...keys: string[]): void {
  for (const key of keys) sessionStorage.removeItem(nameOf(key));
}

export function readKept<T>(key: string | null, initial: T): T {
  const text = key === null ? null : sessionStorage.getItem(nameOf(key));
  try {
    return text === null ? initial : (JSON.parse(text) as T);
  } catch {
    return initial;
  }
}

function keep(key: string | null, value: unknown): void {
  if (key === null) return;
  try {
    sessionStorage.setItem(nameOf(key), JSON.stringify(value));
  } catch {
    // A full storage must not prevent typing.
  }
}

/** Tells whether a key event belongs to an input method, where Enter accepts a suggestion (229 in Safari). */
export const isComposing = (event: { keyCode: number; nativeEvent: { isComposing: boolean } }) =>
  event.nativeEvent.isComposing || event.keyCode === 229;

import { useEffect } from "react";

/** What single keys do on a page, by the key. */
export type Keys = Record<string, () => void>;

/** Hears single keys, but not where the reader types or a dialog or a menu is open. */
export function useKeys(keys: Keys): void {
  useEffect(() => {
    const hear = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector("[role=dialog],[role=menu]")) return;
      const act = keys[event.key];
      if (!act) return;
      // Else the key is also typed into the field that gets the focus.
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", hear);
    return () => document.removeEventListener("keydown", hear);
  });
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

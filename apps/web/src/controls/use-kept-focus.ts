import { type RefObject, useEffect, useRef } from "react";

/** What lies over the page has the focus for a while, and gives it back. */
const over = "[role=dialog], [role=menu]";

/** Keeps the focus in a group of controls when the one that has it goes away, as Pause does when it was pressed. */
export function useKeptFocus(group: RefObject<HTMLElement | null>): void {
  const isOurs = useRef(false);
  useEffect(() => {
    const onFocus = ({ target }: FocusEvent) => {
      const isOver = target instanceof Element && target.closest(over) !== null;
      if (!isOver) isOurs.current = group.current?.contains(target as Node) ?? false;
    };
    document.addEventListener("focusin", onFocus);
    return () => document.removeEventListener("focusin", onFocus);
  }, [group]);
  useEffect(() => {
    const isLost = document.activeElement === document.body && !document.querySelector(over);
    if (isOurs.current && isLost) group.current?.querySelector<HTMLElement>("button, a")?.focus();
  });
}

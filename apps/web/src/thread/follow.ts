import { type RefObject, useEffect, useRef } from "react";

const nearPx = 48;

/** Keeps the end of a growing element in view until the user scrolls away. Scrolling back to the end resumes. */
export function useFollowedEnd(of: RefObject<HTMLElement | null>, isGrowing: boolean): void {
  const isAtEnd = useRef(true);
  useEffect(() => {
    const pane = of.current && paneOf(of.current);
    if (!isGrowing || !pane || !of.current) return;
    const onScroll = () => {
      isAtEnd.current = pane.scrollTop + pane.clientHeight >= pane.scrollHeight - nearPx;
    };
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) pane.scrollTop = pane.scrollHeight;
    });
    observer.observe(of.current);
    pane.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      pane.removeEventListener("scroll", onScroll);
    };
  }, [of, isGrowing]);
}

function paneOf(element: HTMLElement): HTMLElement | null {
  for (let one = element.parentElement; one; one = one.parentElement)
    if (/auto|scroll/.test(getComputedStyle(one).overflowY)) return one;
  return null;
}

import { useCallback, useEffect, useRef, useState } from "react";

/** So near the end the reader is at the end. */
const nearPx = 48;

const endsMs = 2_000;

/** Who scrolls has moved a wheel, a finger, a key or the bar not longer ago than this. */
const handMs = 1_000;
const hands = ["wheel", "touchmove", "keydown", "pointerdown", "pointermove"] as const;

const isAtEnd = (): boolean =>
  window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - nearPx;

/**
 * Keeps the end of a page in view while `isLive`, until the reader scrolls away from it; who comes back
 * to the end follows again. `begins` says whether to follow from the beginning.
 */
export function useFollow(isLive: boolean, begins: boolean) {
  const [isFollowing, setFollowing] = useState(begins && isLive);
  const lastY = useRef(0);
  const touchedAt = useRef(0);
  useEffect(() => {
    const onScroll = () => {
      const isUp = window.scrollY < lastY.current - 2;
      lastY.current = window.scrollY;
      // The list scrolls too, when cards turn out to be lower than they were taken for.
      const isByHand = Date.now() - touchedAt.current < handMs;
      if (isUp && isByHand && !isAtEnd()) setFollowing(false);
    };
    const onHand = () => {
      touchedAt.current = Date.now();
    };
    const onIntent = () => {
      if (isLive && isAtEnd()) setFollowing(true);
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    for (const hand of hands) window.addEventListener(hand, onHand, { passive: true });
    window.addEventListener("wheel", onIntent, { passive: true });
    return () => {
      window.removeEventListener("scroll", onScroll);
      for (const hand of hands) window.removeEventListener(hand, onHand);
      window.removeEventListener("wheel", onIntent);
    };
  }, [isLive]);
  useEffect(() => {
    if (isLive) return;
    // How it ended is shown a moment later than that it ended.
    const timer = setTimeout(() => setFollowing(false), endsMs);
    return () => clearTimeout(timer);
  }, [isLive]);
  useEffect(() => {
    if (!isFollowing) return;
    const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight });
    toEnd();
    const watch = new ResizeObserver(toEnd);
    watch.observe(document.body);
    return () => watch.disconnect();
  }, [isFollowing]);
  const toggle = useCallback(() => setFollowing((before) => !before), []);
  return { isFollowing: isLive && isFollowing, toggle };
}

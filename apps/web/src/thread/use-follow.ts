import { useCallback, useEffect, useRef, useState } from "react";

/** So near the end the reader is at the end. */
const nearPx = 48;

const endsMs = 2_000;

const isAtEnd = (): boolean =>
  window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - nearPx;

/**
 * Keeps the end of a page in view while `isLive`, until the reader scrolls away from it; who comes back
 * to the end follows again. `begins` says whether to follow from the beginning.
 */
export function useFollow(isLive: boolean, begins: boolean) {
  const [isFollowing, setFollowing] = useState(begins && isLive);
  const lastY = useRef(0);
  useEffect(() => {
    const onScroll = () => {
      const isUp = window.scrollY < lastY.current - 2;
      lastY.current = window.scrollY;
      if (isUp && !isAtEnd()) setFollowing(false);
    };
    const onIntent = () => {
      if (isLive && isAtEnd()) setFollowing(true);
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    window.addEventListener("wheel", onIntent, { passive: true });
    return () => {
      window.removeEventListener("scroll", onScroll);
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

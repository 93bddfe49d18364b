import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { nestedAttempts } from "@uncaged/workflow/records";
import type { Status } from "@uncaged/workflow-server/api-types";
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { type Card, failedAmong } from "../../lib/thread-log.ts";
import { type ForkPoint, isLive } from "../../lib/threads.ts";
import { Spacer, useKeys, useListKeys } from "../../ui/page.tsx";
import { stateOf, StepCard } from "./step-card.tsx";

type Props = {
  cards: readonly Card[];
  status: Status;
  /** Whether the log is still loading. */
  isArriving: boolean;
  /** The number of the step to show. The number after the last step means the failed attempt. */
  shownStep: number | undefined;
  /** Number of requests to show the step. Each request shows the step again. */
  shownTimes: number;
  onForkPoint: (point: ForkPoint) => void;
  canRerun: boolean;
  /** The answer form at the foot of a step's card. */
  foot: { number: number; node: ReactNode } | null;
};

/** Maximum number of levels of indentation. */
const deepest = 4;

/** A thread's attempts, nested by caller. Only visible cards are rendered. */
export function StepList(props: Props) {
  const {
    cards: flat,
    status,
    isArriving,
    shownStep,
    shownTimes,
    onForkPoint,
    canRerun,
    foot,
  } = props;
  const nested = nestedAttempts(flat, ({ attempt }) => attempt);
  const cards = nested.map(({ one }) => one);
  const list = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const box = list.current?.getBoundingClientRect();
    if (box) setTop(box.top + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: cards.length,
    estimateSize: () => 150,
    overscan: 6,
    gap: 10,
    scrollMargin: top,
    scrollPaddingStart: headPx,
    getItemKey: (index) => cards[index]?.attempt.attempt ?? index,
  });
  const failed = status === "failed" ? failedAmong(flat) : [];
  const next = (flat.findLast(({ step }) => step !== null)?.step?.number ?? 0) + 1;
  const failedNumber = (card: Card) => (failed.includes(card) ? next : null);
  const shownIndex = cards.findIndex(
    (card) => shownStep !== undefined && (card.step?.number ?? failedNumber(card)) === shownStep,
  );
  const bring = useCallback(
    (aim: Aim) => {
      if (aim === "end") window.scrollTo({ top: document.documentElement.scrollHeight });
      else virtual.scrollToIndex(aim, { align: "start" });
    },
    [virtual],
  );
  const aimAt = useAim(bring, isArriving);
  useEffect(() => {
    if (shownIndex >= 0) aimAt(shownIndex);
  }, [shownIndex, shownTimes, aimAt]);
  useListKeys({
    list,
    target: "article",
    length: cards.length,
    show: (index) => virtual.scrollToIndex(index),
    first: () => firstSeen(list.current),
  });
  useKeys({ End: () => aimAt("end") });
  return (
    <div
      ref={list}
      className="relative"
      role="feed"
      aria-label="Steps"
      aria-busy={status === "running"}
    >
      <Spacer height={virtual.getTotalSize()} />
      {virtual.getVirtualItems().map(({ index, key, start }) => {
        const card = cards[index];
        return (
          card && (
            <div
              key={key}
              ref={virtual.measureElement}
              className="absolute inset-x-0 top-0"
              data-index={index}
              style={{
                transform: `translateY(${start - top}px)`,
                paddingLeft: `${Math.min(nested[index]?.depth ?? 0, deepest) * 1.75}rem`,
              }}
            >
              <StepCard
                card={card}
                version={card.attempt.version}
                state={stateOf(card, isLive(status))}
                onForkPoint={onForkPoint}
                canRerun={canRerun}
                failedNumber={failedNumber(card)}
                foot={card.step && card.step.number === foot?.number ? foot.node : undefined}
              />
            </div>
          )
        );
      })}
    </div>
  );
}

/** Height of the sticky headers of the console and the thread. */
const headPx = 110;

function firstSeen(list: HTMLElement | null): number {
  const made = [...(list?.querySelectorAll("[data-index]") ?? [])];
  const seen = made.find((item) => item.getBoundingClientRect().bottom > headPx);
  return Number(seen?.getAttribute("data-index") ?? 0);
}

/** The target of a scroll: the index of a card, or the end. */
type Aim = number | "end";

/** A scroll is complete after this time without movement, in milliseconds. */
const settledMs = 2_000;
const hands = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

/**
 * Scrolls to a target and repeats until the position is stable, because the log arrives in parts, the heights of cards
 * are estimates until they render, and the router scrolls too. Ends at the first user input.
 */
function useAim(bring: (aim: Aim) => void, isArriving: boolean): (aim: Aim) => void {
  const [aim, setAim] = useState<{ at: Aim } | null>(null);
  useEffect(() => {
    if (!aim) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const drop = () => setAim(null);
    const again = () => {
      bring(aim.at);
      clearTimeout(timer);
      if (!isArriving) timer = setTimeout(drop, settledMs);
    };
    again();
    const observer = new ResizeObserver(again);
    observer.observe(document.body);
    window.addEventListener("scroll", again, { passive: true });
    for (const hand of hands) window.addEventListener(hand, drop, { passive: true, capture: true });
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      window.removeEventListener("scroll", again);
      for (const hand of hands) window.removeEventListener(hand, drop, { capture: true });
    };
  }, [aim, bring, isArriving]);
  return useCallback((at) => setAim({ at }), []);
}

import { useClipboard } from "@mantine/hooks";
import { createLink } from "@tanstack/react-router";
import { Check, Copy as CopyIcon } from "lucide-react";
import { type ComponentProps, type ReactNode, type RefObject, useEffect, useRef } from "react";

const looks = {
  solid: "border-transparent bg-solid text-on-solid press:bg-solid-hover",
  plain: "border-line-strong bg-surface text-ink shadow-sm press:bg-hover",
  quiet: "border-transparent text-muted press:bg-hover press:text-ink",
  danger: "border-line-strong bg-surface text-red press:border-red press:bg-red-soft",
} as const;

const sizes = {
  normal: { height: "min-h-8 max-md:min-h-10", text: "px-3", bare: "min-w-8 max-md:min-w-10" },
  small: {
    height: "min-h-6 text-small max-md:min-h-10 [&_svg]:size-[13px]",
    text: "px-2",
    bare: "min-w-6 max-md:min-w-10",
  },
} as const;

type Face = {
  /** `solid` marks the main action of a page. */
  look?: keyof typeof looks;
  small?: boolean;
  icon?: ReactNode;
};

function faceOf({ look = "plain", small = false }: Face, hasText: boolean, more = ""): string {
  const { height, text, bare } = sizes[small ? "small" : "normal"];
  return `inline-flex flex-none cursor-pointer items-center justify-center gap-2 rounded-md border leading-[1.2] font-semibold whitespace-nowrap hover:no-underline focus-visible:rounded-[3px] disabled:cursor-default disabled:opacity-55 aria-disabled:cursor-default aria-disabled:opacity-55 aria-busy:cursor-progress ${looks[look]} ${height} ${hasText ? text : bare} ${more}`;
}

type ButtonProps = ComponentProps<"button"> &
  Face & {
    /** Shows a spinner and ignores clicks. */
    isBusy?: boolean;
  };

export function Button(props: ButtonProps) {
  const { look, small, icon, isBusy = false, children, onClick, className, ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      className={faceOf({ look, small }, Boolean(children), className)}
      // `disabled` would drop the focus.
      aria-disabled={isBusy || undefined}
      aria-busy={isBusy || undefined}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {icon}
      {children}
    </button>
  );
}

export const ButtonLink = createLink(
  ({ look, small, icon, children, className, ...rest }: ComponentProps<"a"> & Face) => (
    <a {...rest} className={faceOf({ look, small }, true, className)}>
      {icon}
      {children}
    </a>
  ),
);

type CopyProps = {
  /** The text, or a function that returns the text when the button is pressed. */
  text: string | (() => string | Promise<string>);
  what: string;
  icon?: ReactNode;
  isTabbed?: boolean;
};

export function Copy({ text, what, icon = <CopyIcon />, isTabbed = true }: CopyProps) {
  const { copy, copied: isCopied } = useClipboard({ timeout: 1_500 });
  const copyText = async () => copy(typeof text === "string" ? text : await text());
  return (
    <Button
      look="quiet"
      small
      icon={isCopied ? <Check /> : icon}
      aria-label={isCopied ? `Copied ${what}` : `Copy ${what}`}
      title={`Copy ${what}`}
      tabIndex={isTabbed ? undefined : -1}
      onClick={() => void copyText()}
    />
  );
}

/** A terminal command with a copy button. */
export function Command({ children }: { children: string }) {
  return (
    <div className="inline-flex max-w-full items-center gap-2 rounded-md border bg-sunken py-1 pr-1 pl-3 text-left">
      <code className="min-w-0 wrap-anywhere">
        <span className="text-faint select-none" aria-hidden>
          ${" "}
        </span>
        {children}
      </code>
      <Copy text={children} what="the command" />
    </div>
  );
}

const over = "[role=dialog], [role=menu]";

/** Keeps the focus in a group, or on its first control, when the focused control, such as Pause, is removed. */
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
    if (!isOurs.current || !isLost) return;
    const { current } = group;
    (current?.hasAttribute("tabindex")
      ? current
      : current?.querySelector<HTMLElement>("button, a")
    )?.focus();
  });
}

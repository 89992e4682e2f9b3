"""An attempt as its person reads it: the steps with their marks, what happened, and what to do."""

from dataclasses import dataclass

from mcp_bridge.doctor.models import Attempt, Step
from mcp_bridge.doctor.reasons import Reason, Words, words_of

STEPS = [step for step in Step if step is not Step.NONE]
BY_HAND = (Reason.SIGN_IN_OPEN, Reason.CONSENT_OPEN)  # not stopped: a page waits for its person
KEYLESS = (Step.REGISTRATION, Step.CONSENT, Step.TOKEN)  # what an app with an agent key does without

NEXT: dict[int, Words] = {  # of an attempt that nothing stopped, by the last step
    Step.NONE: Words("The app has called.", "Start again in the app."),
    Step.DISCOVERY: Words(
        "The app has found this server, and has done nothing more yet.",
        "Look for a button or link in the app that signs you in.",
    ),
    Step.REGISTRATION: Words(
        "The app has registered, and has not asked for your consent yet.",
        "Look for a button or link in the app that signs you in.",
    ),
    Step.CONSENT: Words(
        "You allowed the app, and it has not fetched its token yet.",
        "Go back to the app. If nothing happens there, start again in it.",
    ),
    Step.TOKEN: Words("The app has its token, and has not called yet.", "Ask it to use AgentBoard."),
    Step.FIRST_CALL: Words("Its calls arrive.", ""),
}


@dataclass(frozen=True)
class Mark:
    """A step: `done`, `here` (stopped or waiting), `ahead`, or `left out` by an app that has a key."""

    label: str
    state: str


@dataclass(frozen=True)
class Progress:
    """An attempt in words. `state` is `done`, `waiting`, `stopped` or `going`."""

    attempt: Attempt
    state: str
    marks: list[Mark]
    words: Words

    @property
    def name(self) -> str:
        """What the app calls itself, or else its program."""
        return self.attempt.client or self.attempt.program or "An app without a name"


def progress(attempt: Attempt) -> Progress:
    """How far the attempt came, in words."""
    words = words_of(attempt.reason) if attempt.reason else NEXT[attempt.step]
    return Progress(attempt, _state(attempt), [_mark(attempt, step) for step in STEPS], words)


def _state(attempt: Attempt) -> str:
    if attempt.reason:
        return "waiting" if attempt.reason in BY_HAND else "stopped"
    return "done" if attempt.step == Step.FIRST_CALL else "going"


def _mark(attempt: Attempt, step: Step) -> Mark:
    if attempt.by_key and step in KEYLESS:
        state = "left out"
    elif step == attempt.stopped_at:
        state = "here"
    else:
        state = "done" if step <= max(attempt.step, attempt.stopped_at - 1) else "ahead"
    return Mark(step.label, state)

"""The pages on which a one-time link sets a first password; the operator's account begins here."""

from django import forms
from django.contrib.auth import login
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from agentboard.identity import links
from agentboard.identity.models import AccountLink, Person
from agentboard.identity.people import check_first_operator
from agentboard.web.account.dress import PASSWORD_MAX, PASSWORD_RULES

INPUT = {"class": "input"}  # the style sheet's name for a text field
TAKEN = "This name was taken just now. Choose another."
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def _password_field(label: str) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password", **INPUT})
    return forms.CharField(label=label, strip=False, max_length=PASSWORD_MAX, widget=widget)


class PasswordForm(forms.Form):
    """A password, twice. `person` is compared with it by the validators."""

    password = _password_field("Password")
    again = _password_field("Password again")

    def __init__(self, person: Person, posted: dict[str, str] | None = None) -> None:
        super().__init__(posted)
        self.person = person
        self.fields["password"].help_text = PASSWORD_RULES

    def clean(self) -> None:
        """The validators of the settings on the first, equality on the second."""
        password, again = self.cleaned_data.get("password"), self.cleaned_data.get("again")
        if password is None:
            return
        if again is not None and again != password:
            self.add_error("again", "The two passwords differ. Type the same one twice.")
        try:
            validate_password(password, self.person)
        except ValidationError as weak:
            self.add_error("password", weak)


class FirstAccountForm(PasswordForm):
    """The operator's name, and a password twice."""

    username = UsernameField(
        label="Name",
        max_length=150,
        help_text="You sign in with it. Letters, digits and @ . + - _",
        widget=forms.TextInput(attrs=INPUT),
    )

    field_order = ("username", "password", "again")

    def clean_username(self) -> str:
        """A name that the first account can have; the password is compared with it, too."""
        name: str = self.cleaned_data["username"]
        self.person.username = name
        try:
            check_first_operator(name)
        except ValidationError as refused:
            raise ValidationError(refused.messages[0]) from refused
        return name


@csrf_protect
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest, token: str) -> HttpResponse:
    """The form of a one-time link, and its answer: signed in, at /admin/ (operators) or the done page.

    Only a valid form uses the link up; a dead one gets 410 and where to get another.
    """
    link = links.live(token)
    if link is None:
        return _dead(request)
    posted = request.POST.dict() if request.method == "POST" else None
    form = _form(link, posted)
    if posted is not None and form.is_valid():
        return _set_password(request, token, link, form)
    return _page(request, link, form)


@require_safe
def done(request: HttpRequest) -> HttpResponse:
    """Says that the password is set."""
    return _untraced(render(request, "account/done.html"), "no-referrer")


def _form(link: AccountLink, posted: dict[str, str] | None) -> PasswordForm:
    return FirstAccountForm(Person(), posted) if link.person is None else PasswordForm(link.person, posted)


def _set_password(request: HttpRequest, token: str, link: AccountLink, form: PasswordForm) -> HttpResponse:
    entered = form.cleaned_data
    try:
        person = links.redeem(token, password=entered["password"], username=entered.get("username", ""))
    except (ValidationError, IntegrityError):  # the name went to somebody else since the form looked
        form.add_error("username", TAKEN)
        return _page(request, link, form)
    if person is None:  # the same link, posted twice at once: the other one was first
        return _dead(request)
    login(request, person, backend=BACKEND)
    return _untraced(redirect("admin:index" if person.is_staff else "account-done"), "no-referrer")


def _page(request: HttpRequest, link: AccountLink, form: PasswordForm) -> HttpResponse:
    page = render(
        request, "account/start.html", {"form": form, "person": link.person}, status=422 if form.errors else 200
    )
    # With no-referrer a browser posts the form as `Origin: null` (Fetch, "append a request Origin header"), which no
    # CSRF check can let pass; same-origin keeps the link from every other site as well.
    return _untraced(page, "same-origin")


def _dead(request: HttpRequest) -> HttpResponse:
    return _untraced(render(request, "account/dead.html", status=410), "no-referrer")


def _untraced(response: HttpResponse, referrer: str) -> HttpResponse:
    """The response, kept in no cache and its address told to no other site."""
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = referrer
    return response

"""Taking everything along, and leaving: what goes is named and counted, and the name is typed before it goes."""

from allauth.account.internal.flows.logout import logout
from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from agentboard.board.leaving import consequences, leave
from agentboard.identity.models import Person
from agentboard.web.account.agents import owner_of
from agentboard.web.account.dress import Dressed


class LeaveForm(Dressed):
    """The name of the account that goes, typed by hand."""

    name = forms.CharField(
        max_length=150,
        strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def __init__(self, person: Person, posted: dict[str, str] | None = None) -> None:
        super().__init__(posted)
        self.person = person
        self.fields["name"].label = f"Type {person.username} to delete this account"

    def clean_name(self) -> str:
        """The very name."""
        name: str = self.cleaned_data["name"]
        if name != self.person.username:
            raise ValidationError(f"This is not {self.person.username}. Nothing was deleted.")
        return name


@require_safe
def my_data(request: HttpRequest) -> HttpResponse:
    """What there is to take along, and the way out."""
    return render(request, "account/data.html", {"counted": consequences(owner_of(request))})


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def delete_account(request: HttpRequest) -> HttpResponse:
    """What goes with the account; then the account."""
    person = owner_of(request)
    form = LeaveForm(person, request.POST.dict() if request.method == "POST" else None)
    if form.is_valid():
        leave(person)
        logout(request)
        return redirect("account-deleted")
    context = {"form": form, "counted": consequences(person)}
    return render(request, "account/delete.html", context, status=422 if form.errors else 200)


@require_safe
def deleted(request: HttpRequest) -> HttpResponse:
    """Says that it is done."""
    return render(request, "account/deleted.html")

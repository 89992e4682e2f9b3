"""Where allauth's own pages of signing in fall short: a name taken meanwhile, a server that sends no mail."""

from typing import Any

from allauth.account.views import email, password_reset
from allauth.account.views._signup import SignupView
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.csrf import csrf_protect

from agentboard.web.account.forms import NameTaken, SignUpForm


class SignUp(SignupView):  # type: ignore[misc]  # allauth has no types
    """A new account; of two people who want one name at the same time, one is told that it is taken."""

    def form_valid(self, form: SignUpForm) -> HttpResponse:
        """Signed in, or the form with what is wrong."""
        try:
            answer: HttpResponse = super().form_valid(form)
        except NameTaken as taken:
            form.add_error("username", str(taken))
            answer = self.form_invalid(form)
        return answer


sign_up = SignUp.as_view()


@csrf_protect
def reset(request: HttpRequest, **named: Any) -> HttpResponseBase:
    """A link for a new password by mail, or, where no mail is sent, whom to ask."""
    if settings.MAIL_IS_SENT:
        answer: HttpResponseBase = password_reset(request, **named)
        return answer
    return render(request, "account/no_mail.html")


@csrf_protect
def addresses(request: HttpRequest) -> HttpResponseBase:
    """My email addresses; where no mail is sent there are none."""
    if settings.MAIL_IS_SENT:
        answer: HttpResponseBase = email(request)
        return answer
    return render(request, "account/no_mail.html")

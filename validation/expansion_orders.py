r"""Orders in 1/reg of the test margin of a single layer with square loss, to any number of digits.

The paper's self-consistent equations for :math:`K = 1`, matrices of 2 by 2, are iterated with mpmath at small values of
1/reg; the polynomial through the margins has the coefficients wanted, since digits can be spent freely. Written from the
paper (with the covariance corrected to the inverse Hessian), independently of the library:
``python -m validation.expansion_orders``.
"""

from __future__ import annotations

from mpmath import diag, inverse, matrix, mp, mpf, sqrt

STEP, EXTRA = "1e-4", 6


def margin(point, reg, symmetrize):
    """Margin of a test node at one regularization; a point is alpha, lam, mu, rho, c."""
    p = dict.fromkeys(("m_w", "Q_w", "m", "Q", "mh", "Qh", "Q_qh", "Vh", "V_qh"), mpf(0))
    p["V_w"] = p["V"] = 1 / (point[0] * reg)
    before, now = mpf(0), mpf(0)
    while now == 0 or abs(now - before) > mpf(10) ** (5 - mp.dps):
        before, (now, p) = now, iterate(p, point, reg, symmetrize)
    return now


def iterate(p, point, reg, symmetrize):
    """Apply the equations once; return the margin of a test node and the new order parameters."""
    alpha, lam, mu, rho, c = point
    lam = lam * sqrt(mpf(2)) if symmetrize else lam
    D = matrix([[1, 0], [-c - (p["V_qh"] if symmetrize else 0), 1]])
    G0 = diag([1 / p["V_w"], 1 / p["V"]])
    cross = p["Q_qh"] if symmetrize else mpf(0)
    noise = matrix([[p["Qh"], 0, 0, cross], [0] * 4, [0, 0, p["Q_w"], 0], [cross, 0, 0, p["Q"]]])
    first, second, soft, hard, back = (
        matrix(*shape) for shape in ((4, 1), (4, 4), (2, 2), (2, 2), (2, 2))
    )
    for active, weight in ((0, 1 - rho), (1, rho)):
        C = inverse(diag([p["Vh"], active]) + D.T * G0 * D)
        of_h, of_q = join(C, C * D.T * G0), join(G0 * D * C, G0 * D * C * D.T * G0 - G0)
        answer = stack(of_q, of_h)
        mean = answer * matrix([p["mh"], active, sqrt(mu) * p["m_w"], lam * p["m"]])
        covariance = answer * noise * answer.T
        if not active:
            found = mean[3] / sqrt(covariance[3, 3]) if covariance[3, 3] else mpf(0)
        first, second = first + weight * mean, second + weight * (covariance + mean * mean.T)
        soft, back = soft + weight * C, back + weight * (G0 * D * C)
        hard = hard + weight * (G0 - G0 * D * C * D.T * G0)
    mh_w, Vh_w, Qh_w = sqrt(mu) * first[0], hard[0, 0], second[0, 0]
    V_w = 1 / (alpha * (reg + Vh_w))
    return found, {
        "m_w": mh_w * V_w,
        "Q_w": alpha * (Qh_w + mh_w**2) * V_w**2,
        "V_w": V_w,
        "m": first[2],
        "Q": second[2, 2],
        "V": soft[0, 0],
        "mh": lam * first[1],
        "Qh": second[1, 1],
        "Vh": hard[1, 1],
        "Q_qh": second[1, 2],
        "V_qh": back[1, 0],
    }


def join(a, b):
    """Two matrices side by side."""
    return matrix([[*a[i, :], *b[i, :]] for i in range(a.rows)])


def stack(a, b):
    """Two matrices one above the other."""
    return matrix([list(m[i, :]) for m in (a, b) for i in range(m.rows)])


def orders(point, order, symmetrize, digits=80):
    """Coefficients of the margin in powers of 1/reg, by divided differences."""
    with mp.workdps(digits):
        point = [mpf(str(value)) for value in point]
        x = [mpf(STEP) * (k + 1) for k in range(order + EXTRA)]
        table = [margin(point, 1 / e, symmetrize) for e in x]
        for k in range(1, len(x)):
            for i in range(len(x) - 1, k - 1, -1):
                table[i] = (table[i] - table[i - 1]) / (x[i] - x[i - k])
        polynomial = [mpf(0)] * len(x)
        for value, e in zip(reversed(table), reversed(x), strict=True):
            polynomial = [value - e * polynomial[0]] + [
                polynomial[k - 1] - e * polynomial[k] for k in range(1, len(x))
            ]
        return [float(value) for value in polynomial[: order + 1]]


def main():
    """Print the orders beside those of the library."""
    import gcnlimit as gl
    from validation.expansion import large_reg_expansion

    for point in ((4, 1.0, 2.0, 0.1, 1.0), (4, 1.5, 3.0, 0.1, 1.0), (1.5, 0.8, 1.0, 0.5, 0.3)):
        for symmetrize in (False, True):
            gcn = gl.GCN(gl.Residual([point[4]]), symmetrize=symmetrize)
            found = large_reg_expansion(gl.CSBM(*point[:4]), gcn, order=4)
            for n, pair in enumerate(zip(orders(point, 4, symmetrize), found, strict=True)):
                print(
                    point,
                    "symmetrized" if symmetrize else "directed",
                    n,
                    *(f"{value:.12f}" for value in pair),
                )


if __name__ == "__main__":
    main()
